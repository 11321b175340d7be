"""Tables as declared models, which the functions and the operator's commands share."""
