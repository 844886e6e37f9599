"""The full-screen application (Textual)."""
