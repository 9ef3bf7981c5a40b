"""Short runs that show one thing each, with the lesson in words."""
