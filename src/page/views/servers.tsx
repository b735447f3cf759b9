// The MCP servers of a session: how each is, what it said last, and what can be done about it.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { safeAddress } from "../../base/text/markdown-safety.js";
import type { App } from "../model/app.js";
import type { OpenSession } from "../model/session.js";
import { Badge, duration, Empty, useLoaded } from "../parts/basics.js";
import { type JsonObject, numberAt, objectAt, objectsAt, textAt, textsAt } from "../wire/json.js";
import { NotLive } from "./tools.js";

const REFRESH_MS = 3_000;

export function Servers({ app, session }: { readonly app: App; readonly session: OpenSession }) {
  const isLive = session.standing.value === "live";
  const load = async () =>
    isLive ? objectsAt(await app.request("_tenon/mcp/status", { sessionId: session.id }), "servers") : [];
  const { value = [], problem, reload } = useLoaded(load, isLive);
  useEffect(() => {
    const timer = setInterval(() => {
      if (isLive && !document.hidden) reload();
    }, REFRESH_MS);
    return () => clearInterval(timer);
  }, [isLive]);
  if (!isLive) return <NotLive app={app} session={session} what="servers" />;
  return (
    <div class="scroller padded">
      {problem !== undefined && <p class="banner bad">{problem}</p>}
      {value.length === 0 && problem === undefined && <Empty title="No MCP servers in this session" />}
      {value.map((server) => (
        <Server key={textAt(server, "name")} app={app} session={session} server={server} reload={reload} />
      ))}
    </div>
  );
}

interface ServerProps {
  readonly app: App;
  readonly session: OpenSession;
  readonly server: JsonObject;
  readonly reload: () => void;
}

function Server({ app, session, server, reload }: ServerProps) {
  const isBusy = useSignal(false);
  const said = useSignal<JsonObject>({});
  const name = textAt(server, "name") ?? "";
  const act = (method: string) => {
    isBusy.value = true;
    const asked = app.request(method, { sessionId: session.id, server: name }).then((answer) => {
      said.value = answer;
    });
    app.run(
      asked.finally(() => {
        isBusy.value = false;
        reload();
      }),
    );
  };
  const lines = textsAt(server, "stderr");
  const [error, hint, note] = ["error", "hint", "note"].map((field) => textAt(server, field));
  return (
    <article class="card server-card" data-row tabIndex={-1} aria-label={name}>
      <header class="server-head">
        <h2>{name}</h2>
        <Badge state={textAt(server, "state") ?? "unknown"} />
        <span class="spacer" />
        {app.may("tools") && (
          <>
            {server["needsLogin"] === true && (
              <button type="button" class="primary" disabled={isBusy.value} onClick={() => act("_tenon/mcp/login")}>
                Log in
              </button>
            )}
            <button type="button" disabled={isBusy.value} onClick={() => act("_tenon/mcp/restart")}>
              Restart
            </button>
          </>
        )}
      </header>
      <Facts server={server} />
      <Said answer={said.value} />
      {error !== undefined && <p class="bad-text plain">{error}</p>}
      {hint !== undefined && <p>{hint}</p>}
      {note !== undefined && <p class="muted">{note}</p>}
      {textsAt(server, "problems").map((problem) => (
        <p class="warning">{problem}</p>
      ))}
      {lines.length > 0 && (
        <details>
          <summary>Last lines of stderr</summary>
          <pre class="code">{lines.join("\n")}</pre>
        </details>
      )}
    </article>
  );
}

/** What a restart does, or where to log in. */
function Said({ answer }: { readonly answer: JsonObject }) {
  const [text, address] = [textAt(answer, "text"), textAt(answer, "url")];
  const url = address === undefined ? undefined : safeAddress(address);
  if (text === undefined && address === undefined) return null;
  return (
    <p class="plain" role="status">
      {text}
      {url && (
        <a href={url.href} target="_blank" rel="noreferrer noopener">
          Log in at {url.host}
        </a>
      )}
    </p>
  );
}

function Facts({ server }: { readonly server: JsonObject }) {
  const [connectMs, latencyMs, restarts] = ["connectMs", "latencyMs", "restarts"].map((field) =>
    numberAt(server, field),
  );
  const own = objectAt(server, "server");
  const facts: readonly (readonly [string, string | number | undefined])[] = [
    ["source", textAt(server, "origin")],
    [
      "calls itself",
      textAt(own, "name") && `${textAt(own, "title") ?? textAt(own, "name")} ${textAt(own, "version") ?? ""}`,
    ],
    ["protocol", textAt(server, "protocolVersion")],
    ["tools", numberAt(server, "toolCount")],
    ["ready after", connectMs === undefined ? undefined : duration(connectMs)],
    ["latency", latencyMs === undefined ? undefined : duration(latencyMs)],
    ["restarts", restarts],
    ["sandbox", textAt(objectAt(server, "sandbox"), "mode")],
  ];
  return (
    <dl class="facts">
      {facts.map(([name, value]) =>
        value === undefined ? null : (
          <div>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}
