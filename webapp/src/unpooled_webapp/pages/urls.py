from __future__ import annotations

from django.urls import path

from unpooled_webapp.pages import views

urlpatterns = [
    path("", views.studies, name="studies"),
    path("sign-in", views.sign_in, name="sign-in"),
    path("sign-out", views.sign_out, name="sign-out"),
    path("studies/<str:study>", views.study, name="study"),
    path("studies/<str:study>/results/<str:name>", views.result, name="result"),
]
