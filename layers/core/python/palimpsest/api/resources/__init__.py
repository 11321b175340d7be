"""What the API serves: of each resource its operations, the bodies that they take and the answers that they give."""
