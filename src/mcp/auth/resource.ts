// What a server is called as a protected resource, and what its metadata may call it.

/** The server's URL as its log-ins are kept under: no fragment, everything else as the URL parser spells it. */
export function resourceOf(url: string): string {
  const parsed = new URL(url);
  parsed.hash = "";
  return parsed.href;
}

/** A server may name itself or something above it as the resource: never another origin, never a sibling. */
export function isResourceOf(named: string, serverUrl: string): boolean {
  if (!URL.canParse(named)) return false;
  const resource = new URL(named);
  const server = new URL(serverUrl);
  if (resource.origin !== server.origin) return false;
  return withSlash(server.pathname).startsWith(withSlash(resource.pathname));
}

function withSlash(path: string): string {
  return path.endsWith("/") ? path : `${path}/`;
}
