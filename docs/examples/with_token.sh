#!/bin/sh
# The studies that you may see. The token is in the file unpooled-token, which only you can read.
# UNPOOLED=https://studies.example.org sh with_token.sh
set -eu
curl --fail --silent --show-error --header "Authorization: Bearer $(cat unpooled-token)" "$UNPOOLED/api/v1/studies"
