"""The screens: a session, its replay, and the lists and pages that open over them."""
