// What a loaded configuration says about its servers.
import { placeText, problemText } from "./layers/read-layer.js";
import type { EffectiveConfig, EffectiveServer, ReadyServer } from "./load-config.js";
import type { UntrustedServer } from "./trust/project.js";

export function readyServers(config: Pick<EffectiveConfig, "servers">): readonly ReadyServer[] {
  return config.servers.filter((server) => server.status === "ready");
}

/** Why a server is not used, in one sentence; undefined when it is. */
export function whyNotReady(server: EffectiveServer): string | undefined {
  switch (server.status) {
    case "ready":
      return undefined;
    case "untrusted":
      return whyUntrusted(server);
    case "disabled":
      return server.reason;
    case "invalid":
      return server.problems.map(problemText).join("; ");
    case "shadowed":
      return `replaced by the server of the same name in ${placeText(server.by)}`;
  }
}

function whyUntrusted({ question: { reasons }, isDenied, place }: UntrustedServer): string {
  const why = reasons ? `: in this folder ${reasons.join("; ")}` : `; it comes from the project (${placeText(place)})`;
  const unapproved = reasons ? "not approved" : "not trusted yet";
  return isDenied ? `denied by you${why}` : `${unapproved}${why}: see tenon trust`;
}
