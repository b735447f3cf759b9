// Another client's servers as a layer of the configuration, for `import`.
import type { InvalidServer, Layer, LayerServer, WrittenServer } from "../layer.js";
import type { ForeignRead } from "./read-foreign.js";

/**
 * Entries that are for that client only are left out without a word, and so are those that cannot be used and that the
 * user has written out themselves (`taken`): both are shown by `tenon mcp import`.
 */
export function foreignLayer({ owner, file, servers, problems }: ForeignRead, taken: ReadonlySet<string>): Layer {
  const invalid = servers.flatMap(({ name, place, server, isExpected, problems: faults }): InvalidServer[] =>
    server || isExpected || taken.has(name) ? [] : [{ name, place, problems: faults }],
  );
  return {
    kind: owner,
    file,
    servers: servers.flatMap(({ server }) => (server ? [owner === "user" ? withoutLine(server) : server] : [])),
    invalid,
    values: [],
    problems: [...problems, ...invalid.flatMap((entry) => entry.problems)],
  };
}

/**
 * Other programs write these files all the time (`~/.claude.json` with every prompt), and whatever they write above an
 * entry moves it: that is no change of the configuration, and sessions must not take it for one.
 */
function withoutLine(server: LayerServer<WrittenServer>): LayerServer<WrittenServer> {
  const { line: _, column: __, ...place } = server.place;
  return { ...server, place, definition: { ...server.definition, placeOf: () => place } };
}
