"""What calls cost as conversations grow, races, cold starts and sizes."""
