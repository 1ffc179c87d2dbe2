# To be sourced by tests that need Python packages of their own.

# installed HERE CACHE: whether what HERE/requirements.txt lists is in CACHE/venv.
installed() { cmp -s "$1/requirements.txt" "$2/venv/.installed"; }

# need_packages HERE CACHE NAME: installs it, unless it is there; where that fails the test is skipped.
need_packages() {
    installed "$1" "$2" && return
    mkdir -p "$2"
    python=/usr/bin/python3
    [ -x "$python" ] || python=python3
    if ! { "$python" -m venv --clear "$2/venv" &&
           "$2/venv/bin/python" -m pip install -q --no-input --disable-pip-version-check \
               -r "$1/requirements.txt"; } >"$2/log" 2>&1; then
        echo "SKIPPED: $3 could not be installed; $2/log says why"
        exit 0
    fi
    cp "$1/requirements.txt" "$2/venv/.installed"
}
