// The frame around the views: navigation, connection, keyboard, and the view that the address names.
import { type ReadonlySignal, useSignal } from "@preact/signals";
import type { ComponentChildren, ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import type { App } from "../model/app.js";
import type { OpenSession } from "../model/session.js";
import { Badge, Folder } from "../parts/basics.js";
import { HELP, onKey } from "../parts/keyboard.js";
import { entryOf } from "../wire/json.js";
import { Sessions } from "./sessions.js";

export interface Route {
  readonly view: string;
  readonly sessionId?: string;
}

/** `#/session/ID/calls`; anything else leads to the list. */
export function routeOf(hash: string): Route {
  const [, view = "sessions", id, tab] = hash.split("/");
  if (view !== "session" || id === undefined || id === "") return { view };
  return { view: tab ?? "session", sessionId: readable(id) };
}

/** An id has no percent sign; an address that was damaged leads to a session that does not exist. */
function readable(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

type AppView = ComponentType<{ readonly app: App }>;
type SessionPart = ComponentType<{ readonly app: App; readonly session: OpenSession }>;

/** What is not in the first view is loaded when it is first looked at. */
const VIEWS: Readonly<Record<string, () => Promise<AppView>>> = {
  approvals: async () => (await import("./approvals.js")).Approvals,
  usage: async () => (await import("./usage.js")).UsageOfAll,
  gateway: async () => (await import("./gateway.js")).Gateway,
};
const SESSION_VIEWS: Readonly<Record<string, () => Promise<SessionPart>>> = {
  session: async () => (await import("./session.js")).SessionView,
  calls: async () => (await import("./calls.js")).Calls,
  tools: async () => (await import("./tools.js")).Tools,
  servers: async () => (await import("./servers.js")).Servers,
  usage: async () => (await import("./usage.js")).UsageOfSession,
};
const TABS: readonly (readonly [string, string])[] = [
  ["session", "Conversation"],
  ["calls", "Calls"],
  ["tools", "Tools"],
  ["servers", "Servers"],
  ["usage", "Usage"],
];

export function Shell({ app, route }: { readonly app: App; readonly route: ReadonlySignal<Route> }) {
  const isHelp = useSignal(false);
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.key === "Escape") isHelp.value = false;
      onKey(event, () => (isHelp.value = !isHelp.value));
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, []);
  const { view, sessionId } = route.value;
  return (
    <div class="shell">
      <Navigation app={app} view={sessionId === undefined ? view : "sessions"} />
      <main class="main">
        <Connection app={app} />
        <Problem app={app} />
        {sessionId === undefined ? <TopView app={app} view={view} /> : <SessionFrame app={app} tab={view} />}
      </main>
      {isHelp.value && <Help onClose={() => (isHelp.value = false)} />}
    </div>
  );
}

function Navigation({ app, view }: { readonly app: App; readonly view: string }) {
  const open = app.questions.value.length;
  const link = (name: string, label: string, badge?: number) => (
    <a href={`#/${name}`} class="nav-link" aria-current={view === name ? "page" : undefined}>
      <span>{label}</span>
      {badge !== undefined && badge > 0 && <span class="nav-badge">{badge}</span>}
    </a>
  );
  return (
    <nav class="nav" aria-label="Views">
      <a class="brand" href="#/sessions">
        <Mark /> Tenon
      </a>
      {link("sessions", "Sessions")}
      {link("approvals", "Approvals", open)}
      {link("usage", "Usage")}
      {link("gateway", "Gateway")}
      <span class="spacer" />
      <span class="nav-who">
        {app.person.value?.name}
        <button type="button" class="small" onClick={() => app.run(app.logOut())}>
          Log out
        </button>
      </span>
    </nav>
  );
}

/** A mortise and its tenon. */
function Mark() {
  return (
    <svg class="mark-icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d="M1 2h14v5h-4v7H5V7H1z" />
    </svg>
  );
}

function Connection({ app }: { readonly app: App }) {
  const link = app.link.value;
  if (link.kind === "online" || !app.isListed.value) return null;
  return (
    <p class="banner" role="status">
      Connecting to the gateway…{" "}
      <button type="button" class="small" onClick={() => app.client.retry()}>
        Try now
      </button>
    </p>
  );
}

function Problem({ app }: { readonly app: App }) {
  const problem = app.problem.value;
  if (problem === undefined) return null;
  return (
    <p class="banner bad" role="alert">
      {problem}{" "}
      <button type="button" class="small" aria-label="close" onClick={() => (app.problem.value = undefined)}>
        ×
      </button>
    </p>
  );
}

function TopView({ app, view }: { readonly app: App; readonly view: string }) {
  const load = entryOf(VIEWS, view);
  if (!load) return <Sessions app={app} />;
  return <Lazy key={view} load={load} app={app} />;
}

function SessionFrame({ app, tab }: { readonly app: App; readonly tab: string }) {
  const session = app.current.value;
  if (!session) return null;
  const row = app.rows.value.get(session.id);
  const load = entryOf(SESSION_VIEWS, tab) ?? SESSION_VIEWS["session"];
  const state = session.standing.value === "live" ? session.state.value : (row?.state ?? "resting");
  const clients = session.clients.value;
  return (
    <section class="view session-frame" aria-label="Session">
      <header class="session-head">
        <div class="session-title">
          <h1>{row?.title || "Untitled session"}</h1>
          <Badge state={state} />
          {clients.length > 0 && session.standing.value === "live" && <span class="people">{clients.join(", ")}</span>}
        </div>
        {row && <Folder path={row.cwd} />}
        <div class="tabs" role="navigation" aria-label="Parts of the session">
          {TABS.map(([name, label]) => (
            <a
              href={`#/session/${encodeURIComponent(session.id)}${name === "session" ? "" : `/${name}`}`}
              aria-current={tab === name ? "page" : undefined}
            >
              {label}
            </a>
          ))}
        </div>
      </header>
      {load && <LazyPart key={`${session.id} ${tab}`} load={load} app={app} session={session} />}
    </section>
  );
}

function useLazy<T>(load: () => Promise<T>, app: App): T | undefined {
  const loaded = useSignal<{ readonly part: T } | undefined>(undefined);
  useEffect(() => {
    app.run(
      load().then((part) => {
        loaded.value = { part };
      }),
    );
  }, []);
  return loaded.value?.part;
}

function Lazy({ load, app }: { readonly load: () => Promise<AppView>; readonly app: App }): ComponentChildren {
  const View = useLazy(load, app);
  return View ? <View app={app} /> : null;
}

function LazyPart({
  load,
  app,
  session,
}: {
  readonly load: () => Promise<SessionPart>;
  readonly app: App;
  readonly session: OpenSession;
}): ComponentChildren {
  const View = useLazy(load, app);
  return View ? <View app={app} session={session} /> : null;
}

function Help({ onClose }: { readonly onClose: () => void }) {
  return (
    <div class="sheet" role="dialog" aria-modal="true" aria-label="Keyboard">
      <div class="card">
        <h2>Keyboard</h2>
        <dl class="arguments">
          {HELP.map(([key, what]) => (
            <>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{what}</dd>
            </>
          ))}
        </dl>
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </div>
  );
}
