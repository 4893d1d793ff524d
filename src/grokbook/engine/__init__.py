"""How an experiment is trained: build, learner, loop, pool.

build    from an arm and seeds to a learner: data, starts, terms, rows of a step
learner  one state, one step and one look, for one member or a stack of them
loop     from the start or a checkpoint to the end; state files
pool     who trains what where: processes on a CPU, stacks on a GPU
device   set-up of a machine, captured graphs
"""
