from ._channels import check_address as check_address
from ._messages import make_secret as make_secret
from ._messages import sign as sign
from ._sender import AlertSender as AlertSender
