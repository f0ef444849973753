# sophon-bridge beside an agent. Build: docker build -t sophon-bridge .
# Run: docker run -e SOPHON_BOT_TOKEN=… -e OPENCLAW_URL=ws://agent:18789 -e OPENCLAW_TOKEN=… -v sophon:/var/lib/sophon sophon-bridge
# Tokens may also come from files: see docs/CONFIGURATION.md. With compose or Kubernetes: docs/SCALING.md.
FROM swift:6.3-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends \
    libcurl4-openssl-dev libmicrohttpd-dev libsimdjson-dev libsqlite3-dev libssl-dev libwslay-dev pkg-config \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
# docker build --build-arg COMMIT=$(git rev-parse --short=12 HEAD): what --version says
ARG COMMIT=
COPY Package.swift bridge.example.json ./
COPY Sources Sources
COPY Tests Tests
RUN mkdir -p .build && if [ -n "$COMMIT" ]; then printf %s "$COMMIT" >.build/commit; fi
RUN swift build -c release --static-swift-stdlib --product sophon-bridge -Xlinker -s -Xlinker --no-export-dynamic -Xlinker --icf=safe

FROM debian:bookworm-slim
# runtime packages: scripts/container-check takes them from here
RUN apt-get update && apt-get install -y --no-install-recommends \
    ca-certificates libcurl4 libgcc-s1 libmicrohttpd12 libsimdjson14 libsqlite3-0 libssl3 libstdc++6 libwslay1 \
    && rm -rf /var/lib/apt/lists/*
RUN useradd --system --home-dir /var/lib/sophon --create-home sophon
COPY --from=build /source/.build/release/sophon-bridge /usr/local/bin/sophon-bridge
USER sophon
ENV SOPHON_STATE_DIR=/var/lib/sophon/state SOPHON_CONFIG_DIR=/var/lib/sophon/config
VOLUME /var/lib/sophon
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s CMD ["sophon-bridge", "status", "--healthy"]
ENTRYPOINT ["sophon-bridge"]
CMD ["run"]
