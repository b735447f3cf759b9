// How a person gets in: a token, or a pairing code of `tenon gateway pair`.
import { useSignal } from "@preact/signals";
import type { App } from "../model/app.js";
import { objectAt, parse, textAt } from "../wire/json.js";

/** Rejects with words for people. */
export async function logIn(path: "/login" | "/pair", body: object): Promise<void> {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    credentials: "same-origin",
  });
  if (answer.ok) return;
  const said = textAt(objectAt(parse(await answer.text()), "error"), "message");
  const what =
    path === "/pair"
      ? "The code is wrong, used already or older than five minutes."
      : "The token is wrong, expired or revoked.";
  throw new Error(said ?? (answer.status === 429 ? "Too many tries: wait a minute." : what));
}

export function Login({ app, onDone }: { readonly app: App; readonly onDone: () => Promise<void> }) {
  const secret = useSignal("");
  const isBusy = useSignal(false);
  const link = app.link.value;
  const send = async () => {
    isBusy.value = true;
    try {
      const given = secret.value.trim();
      if (given.startsWith("tng_")) await logIn("/login", { token: given });
      else await logIn("/pair", { code: /(?:#|^)pair=([^&]+)/u.exec(given)?.[1] ?? given, name: deviceName() });
      secret.value = "";
      await onDone();
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <main class="login">
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault();
          app.run(send());
        }}
      >
        <h1>Tenon</h1>
        <p class="muted">{(link.kind === "out" ? link.reason : undefined) ?? "Log in to this gateway."}</p>
        <label class="field">
          <span class="field-name">Token or pairing code</span>
          <input
            type="password"
            autocomplete="off"
            required
            autofocus
            value={secret.value}
            onInput={(event) => (secret.value = event.currentTarget.value)}
          />
        </label>
        {app.problem.value !== undefined && (
          <p class="bad-text" role="alert">
            {app.problem.value}
          </p>
        )}
        <button type="submit" class="primary" disabled={isBusy.value}>
          Log in
        </button>
        <p class="muted">
          <code>tenon gateway pair</code> prints a link and a code for a phone.
        </p>
      </form>
    </main>
  );
}

/** For the list of paired devices, and for others to see who answered. */
export function deviceName(): string {
  const agent = navigator.userAgent;
  const device = ["iPhone", "iPad", "Android", "Macintosh", "Windows", "Linux"].find((name) => agent.includes(name));
  return { Macintosh: "Mac", Android: "Android phone" }[device ?? ""] ?? device ?? "browser";
}
