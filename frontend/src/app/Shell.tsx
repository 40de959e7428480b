import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { Link, NavLink, Outlet, ScrollRestoration } from "react-router";

import { answer, api } from "../api/client";
import { Button } from "../ui/Button";
import { Callout } from "../ui/Callout";
import { forgetAll } from "../screens/form/kept";
import { Unseen } from "../ui/Layout";
import { forgetSeen } from "../ui/seen";
import { shownName } from "../words/people";
import { useAway } from "./connection";
import { RequireSession, useMe } from "./session";
import styles from "./Shell.module.css";
import { Shortcuts } from "./shortcuts/Shortcuts";
import { applyTheme, chosenTheme, THEMES, type Theme } from "./theme";
import { t } from "../words/language";

/** What is around every page behind the sign-in. */
export function Shell() {
  return (
    <RequireSession>
      <a className={styles.skip} href="#main">
        {t("Skip to content")}
      </a>
      <Header />
      <main id="main" className={styles.main} tabIndex={-1}>
        <Away />
        <Outlet />
      </main>
      <Shortcuts />
      <ScrollRestoration />
    </RequireSession>
  );
}

function Header() {
  const me = useMe();
  return (
    <header className={styles.header}>
      <Link to="/" className={styles.brand}>
        <img src={`${import.meta.env.BASE_URL}icon.svg`} alt="" width="24" height="24" />
        Unpooled
      </Link>
      <nav aria-label={t("Pages")} className={styles.nav}>
        <NavLink to="/" end>
          {t("Studies")}
        </NavLink>
        <NavLink to="/guide">{t("Guide")}</NavLink>
        {me.role === "administrator" && (
          <>
            <NavLink to="/people">{t("People")}</NavLink>
            <NavLink to="/platform">{t("Platform")}</NavLink>
          </>
        )}
        <NavLink to="/account">{shownName(me)}</NavLink>
      </nav>
      <ThemeChoice />
      <SignOut />
    </header>
  );
}

function ThemeChoice() {
  const [theme, setTheme] = useState(chosenTheme);
  const choose = (chosen: Theme) => {
    applyTheme(chosen);
    setTheme(chosen);
  };
  return (
    <label className={styles.theme}>
      <Unseen>{t("Colours")}</Unseen>
      <select value={theme} onChange={(event) => choose(event.target.value as Theme)}>
        {THEMES.map((each) => (
          <option key={each} value={each}>
            {{ system: t("System"), light: t("Light"), dark: t("Dark") }[each]}
          </option>
        ))}
      </select>
    </label>
  );
}

function SignOut() {
  const signOut = useMutation({
    mutationFn: () => answer(api.DELETE("/api/v1/session")),
    // A new page: nothing of this person's stays in memory, nor in the tab.
    onSuccess: () => {
      forgetAll();
      forgetSeen();
      window.location.assign("/");
    },
  });
  return (
    <Button look="quiet" busy={signOut.isPending} onClick={() => signOut.mutate()}>
      {t("Sign out")}
    </Button>
  );
}

function Away() {
  if (!useAway()) return null;
  return (
    <Callout tone="warning" title={t("The server does not answer.")} isNews>
      {t("What you see may be out of date. This page updates by itself once the server answers.")}
    </Callout>
  );
}
