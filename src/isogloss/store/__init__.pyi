from .articles import Entry as Entry
from .articles import Receipt as Receipt
from .articles import from_micros as from_micros
from .articles import micros as micros
from .database import Database as Database
from .database import Session as Session
from .deletion import delete_articles as delete_articles
from .deletion import deletions as deletions
from .postgres import PostgresDatabase as PostgresDatabase
from .projection import (
    Changeset as Changeset,
)
from .projection import (
    ClusterRow as ClusterRow,
)
from .projection import (
    EventRow as EventRow,
)
from .projection import (
    LinkRow as LinkRow,
)
from .projection import (
    Update as Update,
)
from .pruning import PrunePlan as PrunePlan
from .pruning import newest_article as newest_article
from .pruning import plan_prune as plan_prune
from .pruning import prune_before as prune_before
from .queries import EventPage as EventPage
from .queries import EventQuery as EventQuery
from .rebuilding import PublicIds as PublicIds
from .rebuilding import Rebuilt as Rebuilt
from .schema import migrate as migrate
from .sqlite import SQLiteDatabase as SQLiteDatabase
from .store import Store as Store
from .store import take_in as take_in
from .upkeep import (
    back_up as back_up,
)
from .upkeep import (
    look_over as look_over,
)
from .upkeep import (
    restore as restore,
)
