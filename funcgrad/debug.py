"""Looking into functions while they run, also when compiled, vectorised or differentiated.

fg.debug.print("loss = {l}", l=loss)
fg.debug.callback(log.append, loss)
fg.debug.breakpoint()
"""

from funcgrad.api.callback import debug_callback as callback
from funcgrad.api.callback import debug_print as print
from funcgrad.api.debugger import set_breakpoint as breakpoint

__all__ = ["breakpoint", "callback", "print"]
