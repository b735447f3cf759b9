// How a person gets in: a token, or a pairing code of `tenon gateway pair`.
import { useSignal } from "@preact/signals";
import type { App, Person } from "../model/app.js";
import { type JsonValue, objectAt, parse, textAt, textsAt } from "../wire/json.js";

export function personOf(said: JsonValue | undefined): Person {
  const [account = "", name = "page"] = [textAt(said, "account"), textAt(said, "name")];
  return { account, name, scopes: textsAt(said, "scopes") };
}

/** Resolves with who is logged in now; rejects with words for people. */
export async function logIn(path: "/login" | "/pair", body: object): Promise<Person> {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    credentials: "same-origin",
  });
  const given = parse(await answer.text());
  if (answer.ok) return personOf(given);
  const said = textAt(objectAt(given, "error"), "message");
  const what =
    path === "/pair"
      ? "The code is wrong, used already or older than five minutes."
      : "The token is wrong, expired or revoked.";
  throw new Error(said ?? (answer.status === 429 ? "Too many tries: wait a minute." : what));
}

export function Login({ app, onDone }: { readonly app: App; readonly onDone: (person: Person) => void }) {
  const secret = useSignal("");
  const isBusy = useSignal(false);
  const link = app.link.value;
  const send = async () => {
    isBusy.value = true;
    try {
      const given = secret.value.trim();
      const code = /(?:#|^)pair=([^&]+)/u.exec(given)?.[1] ?? given;
      const isToken = given.startsWith("tng_");
      const person = await (isToken ? logIn("/login", { token: given }) : logIn("/pair", { code, name: deviceName() }));
      secret.value = "";
      onDone(person);
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
