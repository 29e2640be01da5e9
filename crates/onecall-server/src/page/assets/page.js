"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const say = (text) => {
    const place = document.getElementById("announcement");
    if (place) place.textContent = text;
  };

  // Times in the reader's zone.
  const day = { month: "short", day: "numeric" };
  const minute = { hour: "numeric", minute: "2-digit" };
  const inYear = (parts, moment) => new Intl.DateTimeFormat(undefined,
    moment.getFullYear() === new Date().getFullYear() ? parts : { year: "numeric", ...parts });
  const localTimes = (root) => {
    for (const time of all("time[datetime]", root)) {
      const moment = new Date(time.dateTime);
      if (!Number.isNaN(moment.getTime())) {
        const parts = time.closest(".chart") ? { ...day, ...minute } : { ...day, ...minute, second: "2-digit" };
        time.textContent = inYear(parts, moment).format(moment);
        time.title = time.dateTime;
      }
    }
  };
  localTimes(document);
  if (document.body.dataset.kind !== "signed-in") return;

  // Parts of the page that change while it is open.
  const fieldKinds = /^(INPUT|TEXTAREA|SELECT)$/;
  const hasTyped = (part) =>
    part.contains(document.activeElement) && fieldKinds.test(document.activeElement.tagName)
    || all("textarea, input, select", part).some((field) => field.type === "checkbox" || field.type === "radio"
      ? field.checked !== field.defaultChecked
      : field.tagName === "SELECT"
        ? [...field.options].some((option) => option.selected !== option.defaultSelected)
        : field.value !== field.defaultValue);
  const isEdited = (part) => hasTyped(part) || part.querySelector("details[open]") !== null;

  // Replaces a part, and gives the focus to the same link or button in the new one. A button of another form is
  // another button, whatever it says.
  const keepFocus = (old, fresh) => {
    const focused = document.activeElement;
    let again = null;
    if (old.contains(focused)) {
      const kind = focused.tagName;
      const name = (item) => [item.id, item.getAttribute("href"), item.form?.getAttribute("action"), item.textContent].join(" ");
      const likeIt = (root) => all(kind, root).filter((item) => name(item) === name(focused));
      again = old === focused ? fresh : likeIt(fresh)[likeIt(old).indexOf(focused)];
      if (kind === "A") again ||= all(kind, fresh)[all(kind, old).indexOf(focused)] || null;
    }
    old.replaceWith(document.adoptNode(fresh));
    if (again) again.focus({ preventScroll: true });
    else if (!document.activeElement || document.activeElement === document.body) {
      if (focused && focused !== document.body) document.getElementById("main")?.focus({ preventScroll: true });
    }
  };

  // A question that was answered elsewhere. Its card stays if something was typed into it. The focus never goes to
  // another question, and keys do nothing for a moment: they were meant for this one.
  let keysFrom = 0;
  const removeCard = (card, fresh) => {
    const id = card.dataset.question;
    const answer = fresh.ownerDocument.getElementById(`answered-${id}`)?.textContent;
    keysFrom = Date.now() + 1000;
    say("A question was answered.");
    if (!hasTyped(card)) {
      const hadFocus = card.contains(document.activeElement);
      card.remove();
      if (hadFocus) document.getElementById("main").focus({ preventScroll: true });
      return;
    }
    delete card.dataset.question;
    card.dataset.kept = "";
    card.id = `kept-${id}`;
    for (const button of all("button", card)) button.disabled = true;
    const notice = document.createElement("p");
    notice.className = "problem";
    notice.textContent = `${answer || "This question does not wait any more"}. What you typed is kept here until you load the page again.`;
    card.prepend(notice);
  };

  // Cards stay as they are while their question is open, so that nothing that was typed is lost.
  const replaceCards = (old, fresh) => {
    const known = new Map(all("[data-question]", old).map((card) => [card.dataset.question, card]));
    const next = all("[data-question]", fresh);
    const open = new Set(next.map((card) => card.dataset.question));
    for (const [id, card] of known) if (!open.has(id)) removeCard(card, fresh);
    for (const other of [...old.children]) if (!("question" in other.dataset || "kept" in other.dataset)) other.remove();
    for (const child of [...fresh.children]) {
      const id = child.dataset.question;
      const same = known.get(id);
      if (same) {
        // A short card becomes a whole one when there is room.
        if (!same.querySelector("form") && child.querySelector("form")) keepFocus(same, child);
        continue;
      }
      old.append(child);
      if (id) say("A call waits for an approval.");
    }
  };

  let waiting = Number(document.getElementById("inbox-count")?.dataset.count || 0);
  const showCount = () => {
    const count = Number(document.getElementById("inbox-count")?.dataset.count || 0);
    document.title = document.title.replace(/^\(\d+\) /, "");
    if (count > 0) document.title = `(${count}) ${document.title}`;
    if (count > waiting && document.hidden && "Notification" in window && Notification.permission === "granted") {
      const note = new Notification("onecall", { body: "A call waits for an approval.", tag: "onecall-inbox" });
      note.onclick = () => { window.focus(); location.href = "/page/inbox"; };
    }
    waiting = count;
  };

  // Loads the page again, unless something was typed: then a notice says why it should be loaded again.
  const loadAgain = (reason) => {
    const main = document.getElementById("main");
    if (!isEdited(main) && !main.querySelector("[data-kept]")) { location.reload(); return; }
    if (document.getElementById("load-again")) return;
    const notice = document.createElement("p");
    notice.id = "load-again";
    notice.className = "problem";
    notice.setAttribute("role", "alert");
    notice.textContent = `${reason} What you typed stays here until you load the page again.`;
    main.prepend(notice);
  };

  let isReading = false;
  let isStale = false;
  let ended = 0;
  const refresh = async () => {
    if (isReading) { isStale = true; return; }
    isReading = true;
    try {
      const response = await fetch(location.href, { headers: { Accept: "text/html" }, redirect: "follow" });
      if (response.status === 401 || response.status === 403) { loadAgain("Your login has to be confirmed."); return; }
      if (!response.ok && response.status !== 404) return;
      const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
      if (document.querySelector("#run-state") && !fresh.querySelector("#run-state")) {
        // A run that has just ended may not be recorded yet.
        ended ||= Date.now();
        if (response.status === 404 && Date.now() - ended < 3000) setTimeout(refresh, 1000);
        else loadAgain("The run has ended.");
        return;
      }
      localTimes(fresh);
      for (const part of all("[data-live][id]")) {
        const other = fresh.getElementById(part.id);
        if (!other) continue;
        if ("cards" in part.dataset) { replaceCards(part, other); continue; }
        if (part.innerHTML === other.innerHTML && part.hidden === other.hidden) continue;
        if (isEdited(part)) continue;
        keepFocus(part, other);
      }
      showCount();
    } catch { /* The event stream reports again when the server is back. */ } finally {
      isReading = false;
      if (isStale) { isStale = false; setTimeout(refresh, 100); }
    }
  };
  if (document.querySelector("[data-live]")) {
    // A browser has few connections to a server, and a stream takes one of them: a tab that is not shown gives its
    // stream back, unless it is the one that notifies.
    let events = null;
    let again = 0;
    const close = () => { clearTimeout(again); events?.close(); events = null; };
    const listen = () => {
      close();
      let wasLost = false;
      const opened = events = new EventSource("/page/events");
      opened.addEventListener("change", refresh);
      opened.addEventListener("open", () => { if (wasLost) refresh(); wasLost = false; });
      opened.addEventListener("error", () => {
        wasLost = true;
        // The browser tries again by itself, unless the server has refused.
        if (opened.readyState !== EventSource.CLOSED || opened !== events) return;
        refresh();
        again = setTimeout(listen, 5000);
      });
    };
    addEventListener("pagehide", close);
    // A page that comes back from the history of the browser has missed what happened.
    addEventListener("pageshow", (event) => { if (event.persisted) { show(); refresh(); } });
    let release = null;
    const notifies = () => "Notification" in window && Notification.permission === "granted" && navigator.locks;
    const show = () => {
      if (!document.hidden) { release?.(); release = null; listen(); return; }
      if (!notifies()) { close(); return; }
      // Of all hidden tabs, the one that has this lock goes on listening.
      close();
      const left = new AbortController();
      let end = () => {};
      release = () => { left.abort(); end(); };
      navigator.locks.request("onecall-notifies", { signal: left.signal }, () => {
        if (!document.hidden) return undefined;
        listen();
        refresh();
        return new Promise((resolve) => { end = resolve; });
      }).catch(() => {});
    };
    document.addEventListener("visibilitychange", () => { show(); if (!document.hidden) refresh(); });
    show();
  }

  // Notifications, after the reader asks for them.
  const notify = document.getElementById("notify");
  if (notify && "Notification" in window && Notification.permission === "default") {
    notify.hidden = false;
    notify.addEventListener("click", async () => {
      await Notification.requestPermission();
      notify.hidden = Notification.permission !== "default";
    });
  }

  // The keyboard in the inbox.
  const cards = () => all("[data-question]");
  addEventListener("keydown", (event) => {
    const isTyping = fieldKinds.test(event.target.tagName);
    if (event.key === "Escape" && isTyping) { event.target.closest("[data-question]")?.focus(); return; }
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || cards().length === 0) return;
    if (Date.now() < keysFrom) return;
    const current = document.activeElement.closest?.("[data-question]");
    const index = cards().indexOf(current);
    const press = (value) => current?.querySelector(`button[value="${value}"]`)?.click();
    const actions = {
      j: () => (cards()[index + 1] || cards()[0]).focus(),
      k: () => (cards()[index - 1] || cards().at(-1)).focus(),
      a: () => press("once"),
      d: () => {
        const reason = current?.querySelector("input[name=reason]");
        if (reason) reason.focus(); else press("give_up");
      },
      e: () => current?.querySelector("textarea")?.focus(),
    };
    if (actions[event.key]) { event.preventDefault(); actions[event.key](); }
  });

  // Enter in the field for the reason denies; without this it would press the first button.
  addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.name === "reason") {
      event.preventDefault();
      event.target.form.querySelector("button[value=deny]").click();
    }
  });

  // Dragging over a time line looks at that part closely.
  const strip = document.getElementById("timeline");
  const picture = strip?.querySelector("svg");
  if (picture) {
    let begin = null;
    let mark = null;
    const place = (event) => {
      const box = picture.getBoundingClientRect();
      return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    };
    picture.addEventListener("pointerdown", (event) => {
      begin = place(event);
      picture.setPointerCapture(event.pointerId);
      mark = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      mark.setAttribute("class", "selection");
      mark.setAttribute("height", "100%");
      picture.append(mark);
    });
    picture.addEventListener("pointermove", (event) => {
      if (begin === null) return;
      const now = place(event);
      mark.setAttribute("x", String(Math.min(begin, now) * 1000));
      mark.setAttribute("width", String(Math.abs(now - begin) * 1000));
    });
    const drop = () => { mark?.remove(); begin = mark = null; };
    picture.addEventListener("pointercancel", drop);
    picture.addEventListener("pointerup", (event) => {
      // A drag that began elsewhere ends here, too.
      if (begin === null) return;
      const end = place(event);
      const [low, high] = [Math.min(begin, end), Math.max(begin, end)];
      drop();
      if (high - low < 0.01) return;
      const from = Number(strip.dataset.from);
      const length = Number(strip.dataset.to) - from;
      const address = new URL(location.href);
      address.searchParams.set("from", String(Math.floor(from + low * length)));
      address.searchParams.set("to", String(Math.ceil(from + high * length)));
      address.searchParams.delete("after");
      location.href = address.href;
    });
  }
})();
