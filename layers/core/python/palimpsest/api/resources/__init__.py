"""Operations by resource, with the bodies that they take and the answers that they give."""
