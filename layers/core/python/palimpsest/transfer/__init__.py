"""Export and import: everything that is stored of a user, or of a whole tenant, as lines of JSON."""
