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

# What both images run on.
FROM ${BASE_IMAGE} AS runtime
RUN echo 'Acquire::Retries "5";' >/etc/apt/apt.conf.d/80-retries \
    && apt-get update --quiet \
    && DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends \
        ca-certificates python3 tini \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt /var/cache/debconf/*-old /var/log/apt /var/log/dpkg.log \
    && groupadd --gid 10001 logpersister \
    && useradd --uid 10001 --gid 10001 --home-dir /tmp --no-create-home --shell /usr/sbin/nologin logpersister
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
    python3 -m venv /opt/uv && /opt/uv/bin/pip install --quiet --require-hashes --requirement /build/requirements-uv.lock
ENV PATH=/opt/uv/bin:${PATH}

# Our own packages as wheels.
FROM ${RUST_IMAGE} AS wheels
ARG CA_FILE=/etc/ssl/certs/ca-certificates.crt
ENV PIP_CERT=${CA_FILE} PIP_DISABLE_PIP_VERSION_CHECK=1 SSL_CERT_FILE=${CA_FILE} CARGO_HTTP_CAINFO=${CA_FILE} \
    PATH=/opt/build/bin:/opt/rust/bin:${PATH}
RUN echo 'Acquire::Retries "5";' >/etc/apt/apt.conf.d/80-retries \
    && apt-get update --quiet \
    && DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends \
        ca-certificates gcc libc6-dev python3-venv
WORKDIR /build
COPY images/build.lock images/
RUN --mount=type=secret,id=ca,target=/run/build-ca.pem \
    python3 -m venv /opt/build && pip install --quiet --require-hashes --requirement images/build.lock
COPY spark-app/native spark-app/native
RUN --mount=type=secret,id=ca,target=/run/build-ca.pem \
    --mount=type=cache,target=/var/cache/cargo \
    CARGO_HOME=/var/cache/cargo pip wheel --no-deps --no-build-isolation --wheel-dir /wheels/native ./spark-app/native
COPY pyproject.toml README.md LICENSE ./
COPY spark-app/logpersister spark-app/logpersister
COPY operator operator
RUN pip wheel --quiet --no-deps --no-build-isolation --wheel-dir /wheels/logpersister .

# A Java runtime of the modules that Spark uses.
FROM tools AS java
RUN DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends binutils openjdk-17-jdk-headless
COPY images/java-modules.txt images/java.sh /build/
RUN sh /build/java.sh /opt/java

FROM tools AS operator-files
COPY images/operator.lock images/compile.sh /build/
RUN --mount=type=secret,id=ca,target=/run/build-ca.pem \
    --mount=type=cache,target=/var/cache/uv \
    uv venv --quiet --python /usr/bin/python3 /opt/logpersister \
    && uv pip install --quiet --python /opt/logpersister --require-hashes --requirement /build/operator.lock
COPY --from=wheels /wheels/logpersister /wheels
RUN --mount=type=cache,target=/var/cache/uv \
    uv pip install --quiet --python /opt/logpersister --no-deps --no-index /wheels/*.whl \
    && sh /build/compile.sh /opt/logpersister

FROM tools AS spark-app-files
COPY images/build.lock images/spark-app.lock /build/
# pyspark is built by what build.lock holds, which goes again when the environment is made equal to its own lock.
RUN --mount=type=secret,id=ca,target=/run/build-ca.pem \
    --mount=type=cache,target=/var/cache/uv \
    uv venv --quiet --python /usr/bin/python3 /opt/logpersister \
    && uv pip install --quiet --python /opt/logpersister --require-hashes --requirement /build/build.lock \
    && uv pip sync --quiet --python /opt/logpersister --require-hashes --no-build-isolation /build/spark-app.lock
COPY --from=wheels /wheels/native /wheels/logpersister /wheels/
COPY images/compile.sh images/trim.sh images/unused-jars.txt /build/
RUN --mount=type=cache,target=/var/cache/uv \
    uv pip install --quiet --python /opt/logpersister --no-deps --no-index /wheels/*.whl \
    && sh /build/trim.sh /opt/logpersister /build/unused-jars.txt \
    && sh /build/compile.sh /opt/logpersister

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
