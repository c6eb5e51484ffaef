from ._frame import error_page as error_page
