// Every server of the configuration: connected to where a session would, else why not.
import { type EffectiveConfig, type EffectiveServer, whyNotReady } from "../../config/index.js";
import { nextFor, nextForStanding } from "../servers/next.js";
import type { LookedServer } from "../servers/visit-all.js";
import { formatElapsed } from "../terminal/clock.js";
import { type Finding, odd, ok, wrong } from "./finding.js";

export function checkServers(looked: readonly LookedServer[]): readonly Finding[] {
  return looked.filter(({ server }) => server.status !== "shadowed").map(findingOf);
}

/** Without starting any. */
export function checkEntries({ servers }: EffectiveConfig): readonly Finding[] {
  return checkServers(servers.map((server) => ({ server })));
}

function findingOf({ server, look }: LookedServer): Finding {
  const id = `server.${server.name}`;
  const subject = `server ${server.name}`;
  if (server.status !== "ready") return standing(server, { id, subject });
  if (!look) return { id, subject, state: "ok", text: "its entry is right; it was not started" };
  const { error, status, tools, tokens, quarantined } = look;
  if (error) return wrong(id, subject, error.message, nextFor(server, error));
  const time = status?.connectMs === undefined ? "" : `, ready after ${formatElapsed(status.connectMs)}`;
  const text = `${tools.length} ${tools.length === 1 ? "tool" : "tools"}, about ${tokens} tokens${time}`;
  if (quarantined.length === 0) return ok(id, subject, text);
  return odd(id, subject, `${text}; ${quarantined.length} quarantined`, [`tenon mcp test ${server.name}`]);
}

function standing(
  server: Exclude<EffectiveServer, { status: "ready" }>,
  { id, subject }: Pick<Finding, "id" | "subject">,
): Finding {
  const text = whyNotReady(server) ?? server.status;
  const next = nextForStanding(server);
  const isFault = server.status === "invalid" || (server.status === "disabled" && server.isIntended !== true);
  if (isFault) return wrong(id, subject, text, next);
  return server.status === "untrusted" ? odd(id, subject, text, next) : { id, subject, state: "unused", text };
}
