from ._files import check_ending as check_ending
