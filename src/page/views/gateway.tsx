// The gateway itself: what it does, and the tokens and paired devices that may come in.
import { useSignal } from "@preact/signals";
import type { App } from "../model/app.js";
import { Ago, count, Empty, useLoaded } from "../parts/basics.js";
import { type JsonObject, numberAt, objectAt, objectsAt, textAt, textsAt } from "../wire/json.js";

const SCOPES = ["read", "prompt", "approve", "tools", "admin"];
const DAY_MS = 86_400_000;

export function Gateway({ app }: { readonly app: App }) {
  const status = useLoaded(() => app.request("_tenon/gateway/status"), app.isListed.value);
  const isAdmin = app.may("admin");
  const listed = useLoaded(
    async () => (isAdmin ? await app.request("_tenon/gateway/tokens", { action: "list" }) : {}),
    isAdmin,
  );
  return (
    <section class="view" aria-label="Gateway">
      <header class="view-head">
        <h1>Gateway</h1>
        <button type="button" onClick={() => app.run(app.logOut())}>
          Log out
        </button>
      </header>
      {status.problem !== undefined && <p class="banner bad">{status.problem}</p>}
      {status.value && <Status status={status.value} />}
      <Nodes nodes={objectsAt(status.value, "nodes")} />
      <h2>Clients</h2>
      <Clients app={app} connections={objectsAt(status.value, "connections")} />
      <h2>Tokens and paired devices</h2>
      {!isAdmin && <p class="muted">Only a log-in with the scope admin sees them.</p>}
      {isAdmin && <NewToken app={app} reload={listed.reload} />}
      {listed.problem !== undefined && <p class="banner bad">{listed.problem}</p>}
      {isAdmin && listed.value && (
        <Tokens app={app} tokens={objectsAt(listed.value, "tokens")} reload={listed.reload} />
      )}
    </section>
  );
}

function Status({ status }: { readonly status: JsonObject }) {
  const [rss, started] = [numberAt(status, "rssBytes"), numberAt(status, "startedAt")];
  const sessions = objectAt(status, "sessions");
  const facts: readonly (readonly [string, string | number | undefined])[] = [
    ["node", textAt(status, "node")],
    ["version", textAt(status, "version")],
    ["account", textAt(status, "account")],
    ["running", numberAt(sessions, "running")],
    ["waiting", numberAt(sessions, "waiting")],
    ["idle", numberAt(sessions, "idle")],
    ["clients", numberAt(status, "clients")],
    ["memory", rss === undefined ? undefined : `${count(Math.round(rss / 1e6))} MB`],
    ["listens at", textsAt(status, "listen").join(", ") || undefined],
  ];
  return (
    <dl class="facts card">
      {facts.map(([name, value]) =>
        value === undefined ? null : (
          <div>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
      {started !== undefined && (
        <div>
          <dt>started</dt>
          <dd>
            <Ago at={started} />
          </dd>
        </div>
      )}
    </dl>
  );
}

/** Only where several gateways share a store, and with `admin`. */
function Nodes({ nodes }: { readonly nodes: readonly JsonObject[] }) {
  if (nodes.length === 0) return null;
  return (
    <>
      <h2>Nodes</h2>
      <ul class="rows">
        {nodes.map((node) => {
          const leftMs = numberAt(node, "leaseLeftMs") ?? 0;
          const sessions = numberAt(node, "sessions") ?? 0;
          return (
            <li class="row" data-row tabIndex={-1}>
              <span class="row-main">
                <span class="row-title">{textAt(node, "name")}</span>
                <span class="row-text">{`Tenon ${textAt(node, "version") ?? "?"} · ${count(sessions)} sessions`}</span>
              </span>
              <span class="row-facts">
                {node["isSelf"] === true && <span class="badge calm">this one</span>}
                {node["isDraining"] === true && <span class="badge">draining</span>}
                {leftMs > 0 ? (
                  <span>{`lease ${(leftMs / 1_000).toFixed(1)} s`}</span>
                ) : (
                  <span class="badge bad">lease over</span>
                )}
              </span>
            </li>
          );
        })}
      </ul>
    </>
  );
}

/** With `admin` every connection; else those that have sessions open. */
function Clients({ app, connections }: { readonly app: App; readonly connections: readonly JsonObject[] }) {
  const titleOf = (id: string) => app.rows.value.get(id)?.title || "Untitled session";
  const joined = [...app.rows.value.values()].flatMap(({ id, clients }) =>
    clients.map((name) => ({ name, ids: [id], about: "" })),
  );
  const all = connections.map((one) => ({
    name: textAt(one, "name") ?? "?",
    ids: textsAt(one, "sessions"),
    about: [textAt(one, "role"), textAt(one, "transport"), textAt(one, "address") || "this machine"].join(" · "),
  }));
  const shown = app.may("admin") ? all : joined;
  if (shown.length === 0) return <p class="muted">No client has a session open.</p>;
  return (
    <ul class="rows">
      {shown.map(({ name, ids, about }) => (
        <li class="row" data-row tabIndex={-1}>
          <span class="row-main">
            <span class="row-title">{name}</span>
            <span class="row-text">
              {ids.map((id) => (
                <a class="joined" href={`#/session/${encodeURIComponent(id)}`}>
                  {titleOf(id)}
                </a>
              ))}
            </span>
          </span>
          <span class="row-facts">{about}</span>
        </li>
      ))}
    </ul>
  );
}

interface TokensProps {
  readonly app: App;
  readonly tokens: readonly JsonObject[];
  readonly reload: () => void;
}

function Tokens({ app, tokens, reload }: TokensProps) {
  const now = app.now;
  const isGood = (token: JsonObject) =>
    token["revokedAt"] === undefined && (numberAt(token, "expiresAt") ?? now + 1) > now;
  const good = tokens.filter(isGood);
  if (good.length === 0) return <Empty title="No tokens" />;
  const revoke = async (id: string | undefined) => {
    await app.request("_tenon/gateway/tokens", { action: "revoke", id });
    reload();
  };
  return (
    <ul class="rows">
      {good.map((token) => (
        <li class="row" data-row tabIndex={-1}>
          <span class="row-main">
            <span class="row-title">{textAt(token, "name")}</span>
            <span class="row-text">{`${textAt(token, "account") ?? ""}: ${textsAt(token, "scopes").join(", ")}`}</span>
          </span>
          <span class="row-facts">
            {token["isDevice"] === true && <span class="badge calm">device</span>}
            <span class="when">
              {numberAt(token, "lastUsedAt") === undefined ? (
                "never used"
              ) : (
                <Ago at={numberAt(token, "lastUsedAt") ?? 0} />
              )}
            </span>
            <button type="button" class="small danger" onClick={() => app.run(revoke(textAt(token, "id")))}>
              Revoke
            </button>
          </span>
        </li>
      ))}
    </ul>
  );
}

function NewToken({ app, reload }: { readonly app: App; readonly reload: () => void }) {
  const name = useSignal("");
  const scopes = useSignal<readonly string[]>(["read"]);
  const made = useSignal<string | undefined>(undefined);
  const create = async () => {
    const given = { name: name.value.trim(), scopes: scopes.value, expiresInMs: 90 * DAY_MS };
    made.value = textAt(await app.request("_tenon/gateway/tokens", { action: "create", ...given }), "token");
    name.value = "";
    reload();
  };
  const toggle = (scope: string) => {
    scopes.value = scopes.value.includes(scope)
      ? scopes.value.filter((one) => one !== scope)
      : [...scopes.value, scope];
  };
  return (
    <form
      class="card new-token"
      onSubmit={(event) => {
        event.preventDefault();
        app.run(create());
      }}
    >
      <label class="field">
        <span class="field-name">Name of a new token</span>
        <input type="text" required value={name.value} onInput={(event) => (name.value = event.currentTarget.value)} />
      </label>
      <fieldset class="scopes">
        <legend>It may</legend>
        {SCOPES.map((scope) => (
          <label>
            <input type="checkbox" checked={scopes.value.includes(scope)} onChange={() => toggle(scope)} /> {scope}
          </label>
        ))}
      </fieldset>
      <button type="submit">Create</button>
      {made.value !== undefined && (
        <p class="made" role="status">
          Shown once, keep it: <code>{made.value}</code>
        </p>
      )}
    </form>
  );
}
