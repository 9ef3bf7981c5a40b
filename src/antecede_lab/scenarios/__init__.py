"""Short runs that every user of the lab will want to see, each with its lesson."""
