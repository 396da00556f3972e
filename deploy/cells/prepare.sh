#!/bin/sh
# For compose.yaml: after deploy/docker/prepare.sh, what PostgreSQL and the workers need. Runs once; delete the folder to start anew.
#
#   prepare.sh FOLDER [OWNER_OF_WORKERS [OWNER_OF_POSTGRES]]
set -eu

files=$1
owner=${2:-}
postgres_owner=${3:-}
[ ! -e "$files/cells-ready" ] || exit 0
umask 077

random() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }

mkdir -p "$files/postgres"
random >"$files/postgres/password"
printf '*:*:*:fsir:%s\n' "$(cat "$files/postgres/password")" >"$files/postgres/pgpass"
cp "$files/postgres/pgpass" "$files/aggregator/pgpass"
random >"$files/aggregator/token"
cat >"$files/postgres/pg_hba.conf" <<'HBA'
local all all trust
host fsir fsir all scram-sha-256
host replication fsir all scram-sha-256
HBA
cat >"$files/postgres/standby.sh" <<'STANDBY'
#!/bin/sh
# The standby copies the primary on its first start, and follows it from then on.
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    until pg_basebackup --pgdata "$PGDATA" --dbname "host=primary user=fsir passfile=$PGPASSFILE" --write-recovery-conf \
        --wal-method stream --checkpoint fast; do
        sleep 1
    done
    chmod 700 "$PGDATA"
fi
exec "$@"
STANDBY
[ -z "$owner" ] || chown -R "$owner" "$files/aggregator"
[ -z "$postgres_owner" ] || chown -R "$postgres_owner" "$files/postgres"
touch "$files/cells-ready"
