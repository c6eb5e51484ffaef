from ._places import need_places as need_places
