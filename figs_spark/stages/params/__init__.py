"""The Params: each is declared once, and stages list those they have."""
