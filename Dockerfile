# A Node release with long-term support.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY src/client/package.json src/client/
COPY src/local-ledger/package.json src/local-ledger/
COPY src/mongod/package.json src/mongod/
RUN npm ci --ignore-scripts
COPY . .
RUN npm run build && npm prune --omit=dev --ignore-scripts

FROM node:24-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data
WORKDIR /app
COPY --from=build /app/package.json /app/openapi.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY --from=build /app/src/page/client src/page/client
RUN mkdir /data .compile-cache && chown node:node /data .compile-cache
USER node
# What V8 makes of the sources, for this user: each start takes less CPU.
ENV NODE_COMPILE_CACHE=/app/.compile-cache
RUN node dist/src/main.js --help > /dev/null
VOLUME /data
EXPOSE 3000
# No npm in between: signals reach the service itself.
ENTRYPOINT ["node", "dist/src/main.js"]
