// The person's browser, as far as a log-in needs one: opens the page, and goes where it is sent.

/** Where the page sends the browser: the redirect URI with code and state. Nothing is sent there. */
export async function visit(url: string | URL): Promise<string> {
  let here = new URL(url);
  for (let hops = 0; hops < 10; hops++) {
    const response = await fetch(here, { redirect: "manual" });
    const text = await response.text();
    const location = response.headers.get("location");
    if (location === null)
      throw new Error(`the page answered ${response.status} and sends nobody back: ${text.slice(0, 300)}`);
    const next = new URL(location, here);
    // A page of the server itself, not yet the way back.
    if (!next.searchParams.has("code") && !next.searchParams.has("error")) here = next;
    else return next.href;
  }
  throw new Error("the pages lead in a circle");
}

/** Goes all the way, so that whoever waits at the redirect URI is answered. Resolves with the page shown there. */
export async function logIn(url: string | URL): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(await visit(url));
  return { status: response.status, text: await response.text() };
}
