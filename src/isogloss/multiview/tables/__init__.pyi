from ._columns import ColumnViews as ColumnViews
from ._columns import JoinViews as JoinViews
from ._scaling import ScaleViews as ScaleViews
from ._table_model import TableModel as TableModel
