# The bot in an image that holds one static program and nothing else: no shell, no root.
#
#   docker build -t megaton .
#   docker run -e LICHESS_BOT_TOKEN -v ./config.toml:/config/config.toml:ro \
#     -v megaton-data:/config/data megaton
#
# For x86-64 processors older than 2013 (no AVX2): --build-arg CPU=x86-64

ARG BUILD_IMAGE=docker.io/library/rust:1-bookworm
ARG RUNTIME_IMAGE=scratch

FROM ${BUILD_IMAGE} AS build
ARG TARGET=x86_64-unknown-linux-gnu
ARG CPU=
WORKDIR /build
# Static: the C library goes into the program; with a target named, the compiler's own plug-ins
# stay dynamic. Without CPU, .cargo/config.toml decides what processor it is for.
RUN printf '[target.%s]\nrustflags = ["-C", "target-feature=+crt-static"%s]\n' \
    "$TARGET" "${CPU:+, \"-C\", \"target-cpu=$CPU\"}" > static.toml
# The dependencies alone: this layer lasts as long as Cargo.lock does.
COPY Cargo.toml Cargo.lock ./
COPY .cargo .cargo
RUN if [ -n "$CPU" ]; then rm .cargo/config.toml; fi \
    && mkdir -p src benches && touch src/lib.rs && echo 'fn main() {}' > src/main.rs \
    && sed -n '/^\[\[bench\]\]/,/^$/s/^name = "\(.*\)"/\1/p' Cargo.toml \
    | while read -r bench; do echo 'fn main() {}' > "benches/$bench.rs"; done \
    && cargo --config static.toml build --release --locked --target "$TARGET"
COPY src src
COPY assets assets
RUN touch src/lib.rs src/main.rs \
    && cargo --config static.toml build --release --locked --target "$TARGET" \
    && install -Ds "target/$TARGET/release/megaton" /out/usr/local/bin/megaton \
    && install -d /out/config /out/etc /data \
    && echo 'hosts: files dns' > /out/etc/nsswitch.conf

FROM ${RUNTIME_IMAGE}
COPY --from=build /out /
# What the bot remembers; the rest may be read-only.
COPY --from=build --chown=10001:10001 /data /config/data
VOLUME ["/config/data"]
USER 10001:10001
WORKDIR /config
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/local/bin/megaton"]
CMD ["run"]
