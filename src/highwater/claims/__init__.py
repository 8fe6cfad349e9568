"""Claims: reading spec files, checking them, and what else can be asked of one."""
