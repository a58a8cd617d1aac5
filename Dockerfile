# The bot in an image that holds its program and nothing else: no shell, no root.
#
#   docker build -t megaton .
#   LICHESS_BOT_TOKEN=$(cat token.txt) docker run -e LICHESS_BOT_TOKEN -v ./config.toml:/config/config.toml:ro \
#     -v megaton-data:/config/data megaton
#
# docs/deploy/compose.yaml runs it read-only and watched. With buildah or podman add --format docker:
# the OCI format has no HEALTHCHECK.
#
# It is for the kind of processor that builds it: x86-64, or 64-bit ARM. Both in one tag:
#
#   docker buildx build --platform linux/amd64,linux/arm64 -t megaton .
#
# On x86-64 it is for processors since about 2013 (x86-64-v3); an older one gets a message that says so. For
# those: --build-arg CPUS=x86-64, which is slower. --build-arg CPUS="x86-64 x86-64-v3" puts both programs into
# one larger image, and the right one is chosen at the start.
#
# With --build-arg PGO=1 the program is built twice, the second time with a profile of its own bench: the
# search takes some 0.93 of the time. It needs rustup, crates.io and a processor that runs what it builds;
# without them the image is the same as without PGO. Two profiles may differ, and so two such images.
#
# The same source and build image give the same program and the same layers, byte for byte, where the
# dates are the same too: `buildah build --timestamp 0`, or with docker buildx
# `SOURCE_DATE_EPOCH=0 docker buildx build --output type=docker,rewrite-timestamp=true`. So is the image's own
# digest, except with buildah before 1.41, which writes a random name into the docker format.
# A tag moves, so the build image is named by its digest, that of the list for all processors; its tag is for
# readers. Another image: --build-arg BUILD_IMAGE=docker.io/library/rust:1.95-bookworm.

ARG BUILD_IMAGE=docker.io/library/rust:1.95-bookworm@sha256:6258907abe69656e41cd992e0b705cdcfabcbbe3db374f92ed2d47121282d4a1
ARG RUNTIME_IMAGE=scratch

FROM ${BUILD_IMAGE} AS build
# What processors it is for: by default x86-64-v3, on ARM all. Of two the first is what starts, and hands
# over to the second, the fast one, at once where the processor is good enough.
ARG CPUS=
WORKDIR /build
# Static: the C library goes into the program; with a target named, the compiler's own plug-ins
# stay dynamic.
RUN machine=$(uname -m) && TARGET="$machine-unknown-linux-gnu" \
    && if [ "$machine" = x86_64 ]; then : "${CPUS:=x86-64-v3}"; else : "${CPUS:=generic}"; fi \
    && printf 'TARGET=%s CPUS="%s"\n' "$TARGET" "$CPUS" > chosen \
    && for cpu in $CPUS; do printf '[target.%s]\nrustflags = ["-C", "target-feature=+crt-static", "-C", "target-cpu=%s"]\n' \
    "$TARGET" "$cpu" > "$cpu.toml"; done
# The dependencies alone: this layer lasts as long as Cargo.lock does.
COPY Cargo.toml Cargo.lock ./
RUN . ./chosen && mkdir -p src benches && touch src/lib.rs && echo 'fn main() {}' > src/main.rs \
    && sed -n '/^\[\[bench\]\]/,/^$/s/^name = "\(.*\)"/\1/p' Cargo.toml \
    | while read -r bench; do echo 'fn main() {}' > "benches/$bench.rs"; done \
    && for cpu in $CPUS; do cargo --config "$cpu.toml" build --release --locked \
    --target "$TARGET" --target-dir "target/$cpu" || exit 1; done
COPY src src
COPY assets assets
ARG PGO=
# The plug-in that builds with a profile, and the tools of the compiler's own LLVM, which it calls.
RUN [ -z "$PGO" ] || { rustup component add llvm-tools && cargo install --locked --version 0.3.0 cargo-pgo; } \
    || echo "no tools for profiles"
# Without a profile, the step after this one builds the program.
RUN . ./chosen; touch src/lib.rs src/main.rs; for cpu in $CPUS; do [ -n "$PGO" ] || break; \
    export CARGO_TARGET_DIR="target/$cpu" && set -- --config "$cpu.toml" --locked --target "$TARGET" \
    && cargo pgo build -- "$@" && "target/$cpu/$TARGET/release/megaton" bench 12 && cargo pgo optimize -- "$@" \
    && cp "target/$cpu/$TARGET/release/megaton" "$cpu.program" || echo "no profile of $cpu: built without"; done
RUN . ./chosen && name=megaton && for cpu in $CPUS; do [ -f "$cpu.program" ] \
    || { cargo --config "$cpu.toml" build --release --locked --target "$TARGET" --target-dir "target/$cpu" \
    && cp "target/$cpu/$TARGET/release/megaton" "$cpu.program"; } || exit 1; \
    install -Ds "$cpu.program" "/out/usr/local/bin/$name" || exit 1; \
    name=megaton-fast; done \
    && install -d /out/config /out/etc /data \
    && echo 'hosts: files dns' > /out/etc/nsswitch.conf

FROM ${RUNTIME_IMAGE}
COPY --from=build /out /
# What the bot remembers; the rest may be read-only.
COPY --from=build --chown=10001:10001 /data /config/data
# Where the database puts what it sorts: there is no other place to write to.
ENV SQLITE_TMPDIR=/config/data
VOLUME ["/config/data"]
USER 10001:10001
WORKDIR /config
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=30s --retries=3 \
    CMD ["/usr/local/bin/megaton", "healthcheck", "--quiet"]
ENTRYPOINT ["/usr/local/bin/megaton"]
CMD ["run"]
