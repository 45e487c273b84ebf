"""How clinicians judge a score: whom it finds, whom it spares, and whether its risks are true."""
