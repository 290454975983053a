# For linux/amd64 and linux/arm64. What is built is JavaScript alone, the same for both, so the building machine does it once.
FROM --platform=$BUILDPLATFORM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY src/client/package.json src/client/
COPY src/local-ledger/package.json src/local-ledger/
COPY src/mongod/package.json src/mongod/
COPY src/proof/package.json src/proof/
RUN npm ci --ignore-scripts
COPY . .
RUN npm run build && npm prune --omit=dev --ignore-scripts

# A Node release with long-term support.
FROM node:24-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data XDG_CACHE_HOME=/data/cache
WORKDIR /app
COPY --from=build /app/package.json /app/openapi.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY --from=build /app/src/page/client src/page/client
# Only these may be written to, by a user without rights, so that the rest can be read-only.
RUN mkdir /data /backups .compile-cache && chown 1000:1000 /data /backups .compile-cache \
  && ln -s /app/dist/src/cli/main.js /usr/local/bin/stellar-collect
USER 1000:1000
# What V8 makes of the sources: each start takes less CPU.
ENV NODE_COMPILE_CACHE=/app/.compile-cache
RUN node dist/src/main.js --help > /dev/null
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=30s --timeout=5s --start-period=120s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 3000}/health/live`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# No npm in between: signals reach the service itself.
ENTRYPOINT ["node", "dist/src/main.js"]
