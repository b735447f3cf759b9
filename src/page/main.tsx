// The start of the page: who is logged in, where the address leads, and the first view.
import { computed, effect, signal } from "@preact/signals";
import { render } from "preact";
import { useEffect } from "preact/hooks";
import { App, type Person } from "./model/app.js";
import { deviceName, Login, logIn, personOf } from "./views/login.js";
import { routeOf, Shell } from "./views/shell.js";
import type { Socket, SocketEvents } from "./wire/client.js";
import { parse } from "./wire/json.js";
import "./style.css";

const IDENTITY = "tenon.client";
/** Who was logged in last: the page connects at once, and asks only where the gateway refuses. No secret. */
const PERSON = "tenon.person";

/** Undefined: nobody is logged in. */
async function whoAmI(): Promise<Person | undefined> {
  const answer = await fetch("/me", { credentials: "same-origin", cache: "no-store" });
  if (answer.status === 401) return undefined;
  if (!answer.ok) throw new Error(`the gateway answered ${answer.status}`);
  return personOf(parse(await answer.text()));
}

/** Of the page's own origin, whatever its address says. */
function openSocket({ onOpen, onText, onEnd }: SocketEvents): Socket {
  const socket = new WebSocket(`${location.origin.replace(/^http/u, "ws")}/acp`);
  socket.onopen = onOpen;
  socket.onclose = onEnd;
  socket.onmessage = ({ data }: MessageEvent<unknown>) => {
    if (typeof data === "string") onText(data);
  };
  return {
    send: (text) => socket.send(text),
    close: () => {
      [socket.onopen, socket.onclose, socket.onmessage] = [null, null, null];
      socket.close();
    },
  };
}

const app = new App({
  connect: openSocket,
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
  now: () => Date.now(),
  schedule: (run) => (document.hidden ? setTimeout(run, 50) : requestAnimationFrame(run)),
  identity: { get: () => sessionStorage.getItem(IDENTITY), set: (value) => sessionStorage.setItem(IDENTITY, value) },
  logOut: async () => {
    // With a body of that type: no form of another site can send it.
    const headers = { "content-type": "application/json" };
    const answer = await fetch("/logout", { method: "POST", credentials: "same-origin", headers, body: "{}" });
    if (!answer.ok && answer.status !== 401) throw new Error(`the gateway answered ${answer.status}: still logged in`);
    sessionStorage.removeItem(IDENTITY);
    localStorage.removeItem(PERSON);
  },
  isKnown: async () => {
    const isKnown = (await whoAmI()) !== undefined;
    if (!isKnown) localStorage.removeItem(PERSON);
    return isKnown;
  },
});

const hash = signal(location.hash);
const route = computed(() => routeOf(hash.value));
/** Whether it is known who is logged in. */
const isAsked = signal(false);

function enter(person: Person | undefined): void {
  if (person) {
    localStorage.setItem(PERSON, JSON.stringify(person));
    app.problem.value = undefined;
    app.logIn(person);
  }
  isAsked.value = true;
}

/** A pairing code leaves the address before anything else happens, so that it is in no history. */
async function pair(): Promise<Person | undefined> {
  const given = new URLSearchParams(location.hash.slice(1));
  const code = given.get("pair");
  if (code === null) return undefined;
  const session = given.get("session");
  history.replaceState(null, "", session === null ? "/" : `/#/session/${encodeURIComponent(session)}`);
  hash.value = location.hash;
  return await logIn("/pair", { code, name: deviceName() });
}

function Page() {
  const isIn = app.person.value !== undefined && app.link.value.kind !== "out";
  const isReady = isIn && app.isListed.value;
  useEffect(() => {
    if (isReady) performance.mark("first-view");
  }, [isReady]);
  if (isIn) return <Shell app={app} route={route} />;
  return isAsked.value ? <Login app={app} onDone={enter} /> : null;
}

function start(): void {
  const show = () => {
    hash.value = location.hash;
    app.show(route.value.sessionId);
  };
  addEventListener("hashchange", show);
  addEventListener("online", () => app.client.retry());
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) app.client.retry();
  });
  effect(() => {
    const open = app.questions.value.length;
    document.title = open === 0 ? "Tenon" : `(${open}) Tenon`;
  });
  const root = document.getElementById("page");
  if (root) render(<Page />, root);
  const begin = async () => {
    const paired = await pair().catch((error: unknown) => {
      app.fail(error);
      return undefined;
    });
    show();
    const remembered = localStorage.getItem(PERSON);
    enter(paired ?? (remembered === null ? await whoAmI() : personOf(parse(remembered))));
  };
  begin().catch((error: unknown) => {
    isAsked.value = true;
    app.fail(error);
  });
}

start();
