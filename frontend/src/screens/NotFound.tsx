import { useRouteError } from "react-router";

import { ButtonLink } from "../ui/Button";
import { Callout } from "../ui/Callout";
import { PageTitle, Row } from "../ui/Layout";
import { t } from "../words/language";

export function NotFound() {
  return (
    <>
      <PageTitle>{t("There is nothing here")}</PageTitle>
      <p>{t("This address leads nowhere. It may have been mistyped.")}</p>
      <Row>
        <ButtonLink to="/">{t("Go to the studies")}</ButtonLink>
      </Row>
    </>
  );
}

/** What is left when a page could not be shown: an error of ours, or a script that could not be loaded. */
export function Failed() {
  const error = useRouteError();
  return (
    <main>
      <Callout tone="bad" title={t("This page could not be shown.")} isNews>
        <p>{t("Load it again. If that does not help, tell the platform's operator what it says here:")}</p>
        <p>
          <code>{error instanceof Error ? error.message : String(error)}</code>
        </p>
      </Callout>
    </main>
  );
}
