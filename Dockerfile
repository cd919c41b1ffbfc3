# The images of the operator and of members and executors: `make image`, or
#
#     docker build --target spark-app --tag logpersister .
#     docker build --target operator --tag logpersister-operator .
#
# docs/design/image.md tells why it is as it is.

# A Debian with apt: packages of Debian and what the locks pin is all that is added to it.
ARG BASE_IMAGE=debian:bookworm-slim
# Only builds the native decoder. Nothing of it is in the result.
ARG RUST_IMAGE=rust:1.95-slim-bookworm
# Or `given`: its wheel is in /opt/native, and RUST_IMAGE is `tools`.
ARG NATIVE=compiled

# What both images run on.
FROM ${BASE_IMAGE} AS runtime
RUN echo 'Acquire::Retries "5"; Acquire::Languages "none";' >/etc/apt/apt.conf.d/80-retries \
    && apt-get update --quiet \
    && DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends \
        ca-certificates python3 tini \
    && groupadd --gid 10001 logpersister \
    && useradd --uid 10001 --gid 10001 --home-dir /tmp --no-create-home --shell /usr/sbin/nologin logpersister \
    # Clusters may give containers any other user: it has a name, too, because Spark asks for one. After useradd, which
    # would take each number for a user that is there.
    && DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends libnss-unknown \
    && [ "$(setpriv --reuid=1000680000 --regid=0 --clear-groups id --user --name)" = uid-1000680000 ] \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt /var/cache/debconf/*-old /var/log/apt /var/log/dpkg.log
# /tmp is the only place that can be written to: the root file system may be read-only.
ENV HOME=/tmp \
    LANG=C.UTF-8 \
    PATH=/opt/logpersister/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1

# Certificates that the registries of the build are trusted by; another bundle is passed as the secret `ca`.
FROM runtime AS tools
ARG CA_FILE=/etc/ssl/certs/ca-certificates.crt
ENV PIP_CERT=${CA_FILE} PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore SSL_CERT_FILE=${CA_FILE} \
    UV_CACHE_DIR=/var/cache/uv UV_LINK_MODE=copy UV_NO_PROGRESS=1 UV_PYTHON_DOWNLOADS=never
RUN apt-get update --quiet \
    && DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends python3-venv
COPY requirements-uv.lock /build/
RUN --mount=type=secret,id=ca,target=/run/build-ca.pem \
    python3 -m venv /opt/uv \
    && /opt/uv/bin/pip install --quiet --no-compile --require-hashes --requirement /build/requirements-uv.lock
ENV PATH=/opt/uv/bin:${PATH}

# The native decoder as a wheel.
FROM ${RUST_IMAGE} AS native
ARG CA_FILE=/etc/ssl/certs/ca-certificates.crt
ENV PIP_CERT=${CA_FILE} PIP_DISABLE_PIP_VERSION_CHECK=1 SSL_CERT_FILE=${CA_FILE} CARGO_HTTP_CAINFO=${CA_FILE} \
    PATH=/opt/build/bin:/opt/rust/bin:${PATH}
ARG NATIVE
RUN [ "${NATIVE}" = given ] || { \
        echo 'Acquire::Retries "5";' >/etc/apt/apt.conf.d/80-retries \
        && apt-get update --quiet \
        && DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends \
            ca-certificates gcc libc6-dev python3-venv; \
    }
WORKDIR /build
COPY images/build.lock images/
RUN --mount=type=secret,id=ca,target=/run/build-ca.pem \
    [ "${NATIVE}" = given ] || { \
        python3 -m venv /opt/build && pip install --quiet --require-hashes --requirement images/build.lock; \
    }
COPY spark-app/native spark-app/native
RUN --mount=type=secret,id=ca,target=/run/build-ca.pem \
    --mount=type=cache,target=/var/cache/cargo \
    if [ "${NATIVE}" = given ]; then \
        cp -r /opt/native /wheels; \
    else \
        CARGO_HOME=/var/cache/cargo pip wheel --no-deps --no-build-isolation --wheel-dir /wheels ./spark-app/native; \
    fi

# All of our own in Python as a wheel.
FROM tools AS wheel
WORKDIR /build
COPY images/build.lock images/
COPY pyproject.toml README.md LICENSE ./
COPY spark-app/logpersister spark-app/logpersister
COPY operator operator
RUN --mount=type=secret,id=ca,target=/run/build-ca.pem \
    --mount=type=cache,target=/var/cache/uv \
    uv build --quiet --wheel --build-constraint images/build.lock --require-hashes --python /usr/bin/python3 \
        --out-dir /wheels --no-create-gitignore .

# A Java runtime of the modules that Spark uses.
FROM tools AS java
COPY images/java-modules.txt images/java.sh /build/
RUN DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends binutils openjdk-17-jdk-headless \
    && sh /build/java.sh /opt/java \
    && rm -r /usr/lib/jvm

FROM tools AS operator-files
COPY images/operator.lock images/compile.sh /build/
RUN --mount=type=secret,id=ca,target=/run/build-ca.pem \
    --mount=type=cache,target=/var/cache/uv \
    uv venv --quiet --python /usr/bin/python3 /opt/logpersister \
    && uv pip install --quiet --python /opt/logpersister --require-hashes --requirement /build/operator.lock \
    && sh /build/compile.sh /opt/logpersister
COPY --from=wheel /wheels /wheels
RUN --mount=type=cache,target=/var/cache/uv \
    uv pip install --quiet --python /opt/logpersister --no-deps --no-index /wheels/*.whl \
    && sh /build/compile.sh /opt/logpersister 'logpersister*'

FROM tools AS spark-app-files
COPY images/build.lock images/spark-app.lock images/compile.sh images/trim.sh images/unused-jars.txt /build/
# pyspark is built by what build.lock holds, which goes again when the environment is made equal to its own lock. Its wheel
# is only unpacked, so it is not compressed. What is not used of it goes before the layer is written.
RUN --mount=type=secret,id=ca,target=/run/build-ca.pem \
    --mount=type=cache,target=/var/cache/uv \
    uv venv --quiet --python /usr/bin/python3 /opt/logpersister \
    && uv pip install --quiet --python /opt/logpersister --require-hashes --requirement /build/build.lock \
    && uv pip sync --quiet --python /opt/logpersister --require-hashes --no-build-isolation \
        --config-settings-package=pyspark:--build-option=--compression=stored /build/spark-app.lock \
    && sh /build/trim.sh /opt/logpersister /build/unused-jars.txt \
    && sh /build/compile.sh /opt/logpersister
COPY --from=native /wheels /wheels
COPY --from=wheel /wheels /wheels
# What lists the crates of a native module has a name that scanners of images do not look for.
RUN --mount=type=cache,target=/var/cache/uv \
    uv pip install --quiet --python /opt/logpersister --no-deps --no-index /wheels/*.whl \
    && sh /build/compile.sh /opt/logpersister 'logpersister*' \
    && find /opt/logpersister/lib -path '*.dist-info/sboms/*.cyclonedx.json' \
        -exec sh -c 'cp "$1" "${1%.cyclonedx.json}.cdx.json"' - {} ';'

FROM runtime AS operator
COPY --from=operator-files /opt/logpersister /opt/logpersister
# Its threads allocate little; with an arena for each, glibc would keep a quarter more memory for itself.
ENV MALLOC_ARENA_MAX=2
USER 10001:10001
WORKDIR /tmp
EXPOSE 8080 9090
ENTRYPOINT ["/usr/bin/tini", "--", "logpersister-operator"]

FROM runtime AS spark-app
COPY --from=java /opt/java /opt/java
COPY --from=spark-app-files /opt/logpersister /opt/logpersister
COPY --chmod=0755 images/entrypoint.sh /opt/logpersister/bin/entrypoint
COPY --chmod=0755 images/decommission.sh /opt/logpersister/bin/decommission
# A member whose servers are away when its pod starts waits for them: less than the startup probe allows.
# What a resource says is taken as it stands: variables are for manifests of the command line.
ENV JAVA_HOME=/opt/java \
    LOGPERSISTER_SUBSTITUTE=no \
    LOGPERSISTER_WAIT=2m \
    PYSPARK_PYTHON=/opt/logpersister/bin/python \
    SPARK_HOME=/opt/logpersister/spark
RUN python -m logpersister.pipeline.class_archive
USER 10001:10001
WORKDIR /tmp
EXPOSE 8080 7078 7079
ENTRYPOINT ["/usr/bin/tini", "--", "/opt/logpersister/bin/entrypoint"]
