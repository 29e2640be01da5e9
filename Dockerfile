# onecall serving MCP over HTTP, as an ordinary user.
#
#   docker build -t onecall .
#   docker run --rm -p 127.0.0.1:8808:8808 -v "$PWD/onecall.yaml:/etc/onecall/config.yaml:ro" \
#     --security-opt seccomp=unconfined --security-opt apparmor=unconfined -e ONECALL_TOKEN=… onecall
#
# Programs are locked in with user namespaces, which the default profiles of container engines
# forbid; the two options lift that, and `onecall doctor` shows which walls stand. With
# `sandbox: best-effort` in the configuration it runs without them, behind the walls that are left.

FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
RUN cargo build --locked --release --workspace --bin onecall --ignore-rust-version

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates python3 nodejs npm \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 10001 onecall
COPY --from=build /src/target/release/onecall /usr/local/bin/onecall
USER onecall
WORKDIR /home/onecall
ENV ONECALL_CONFIG=/etc/onecall/config.yaml
EXPOSE 8808
ENTRYPOINT ["onecall"]
CMD ["serve", "--http", "0.0.0.0:8808"]
