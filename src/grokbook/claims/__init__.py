"""What a page concludes, judged seed by seed and shown as a box and a table.

registered  what is tested, from book/<paper>/claims.yaml
sheet       `read`: those rows with the values that a page found; `exactly`
claim       `Claim`, and the functions that judge one
verdict     what is said of it, and how that is drawn
display     the box at the head of a page, and what closes it
"""

from grokbook.claims.claim import Claim, main, median, summary
from grokbook.claims.display import MIME
from grokbook.claims.sheet import Sheet, exactly, read
