# onecall serving MCP over HTTP, as an ordinary user.
#
#   docker build -t onecall .                     # onecall alone
#   docker build -t onecall:full --target full .  # with Python and Node.js, for CPython and for servers
#   docker run --rm -p 127.0.0.1:8808:8808 -v "$PWD/onecall.yaml:/etc/onecall/config.yaml:ro" \
#     -v onecall-state:/var/lib/onecall -e ONECALL_TOKEN=… onecall
#
# Programs on the embedded engines are locked in under the container engine's default profiles.
# docs/containers.md says what CPython needs, and what the profiles of packaging/container add.

FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
RUN cargo build --locked --profile dist --workspace --bin onecall --ignore-rust-version \
    && cargo xtask sbom onecall.cdx.json

FROM debian:bookworm-slim AS onecall
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --create-home onecall \
    && install --directory --owner onecall --group onecall --mode 0700 /var/lib/onecall
COPY --from=build /src/target/dist/onecall /usr/local/bin/onecall
# The licences of everything in the binary, and the list of what that is.
COPY --from=build /src/THIRD-PARTY.txt /src/LICENSE-MIT /src/LICENSE-APACHE /src/onecall.cdx.json \
    /usr/share/doc/onecall/
# By number: Kubernetes does not know the names, and has to see that this is not root.
USER 10001:10001
WORKDIR /home/onecall
ENV ONECALL_CONFIG=/etc/onecall/config.yaml XDG_STATE_HOME=/var/lib/onecall
# Logins, records of runs, learned types.
VOLUME /var/lib/onecall
EXPOSE 8808
# There is no HTTP client in here, and bash is enough.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
    CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8808 && printf 'GET /health HTTP/1.0\\r\\n\\r\\n' >&3 && grep --quiet '200 OK' <&3"]
ENTRYPOINT ["onecall"]
CMD ["serve", "--http", "0.0.0.0:8808"]

FROM onecall AS full
USER root
RUN apt-get update \
    && apt-get install --yes --no-install-recommends python3 python3-venv nodejs npm \
    && rm -rf /var/lib/apt/lists/*
USER 10001:10001

# What is built unless --target says otherwise.
FROM onecall
