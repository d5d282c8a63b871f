"""What people read of the tables: in the paper's shape as Markdown, LaTeX and HTML, and as pages for a browser."""
