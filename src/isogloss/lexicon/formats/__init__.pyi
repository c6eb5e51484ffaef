from ._files import write_files as write_files
from ._lines import write_entries as write_entries
from ._lines import write_table as write_table
from ._stardict import write_stardict as write_stardict
from ._xml import write_lift as write_lift
from ._xml import write_tei as write_tei
