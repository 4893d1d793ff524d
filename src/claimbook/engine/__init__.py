"""How an experiment is trained: build makes a learner, loop drives it, pool many."""
