"""Language models behind one seam: litellm, the scripted demo, the catalogue."""
