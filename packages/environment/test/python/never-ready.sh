#!/bin/sh
exec sleep 100
