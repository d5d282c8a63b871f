"""From records to tables. Every statistic is made here; what comes after only shows it."""
